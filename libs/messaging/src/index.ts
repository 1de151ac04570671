export { MIN_PAYLOAD_BYTES } from './nats-requirements.js';
export { NatsLink, NatsServerUnfitError, type NatsLinkOptions } from './nats-link.js';
export { addressesShown, NatsAccessError, type NatsServerSettings } from './nats-server.js';
export { examineNats, type JetStreamReport, type NatsReport, type StorageUse } from './nats-report.js';
export { ActorBus, PublishError, type ActorBusOptions } from './actor-bus.js';
export { MAX_BODY_BYTES, MessageTooLargeError, receiverOf } from './envelope.js';
export type { Poison, PoisonHandler } from './mailbox.js';
export { KvLeaseBoard, type KvLeaseBoardOptions } from './kv-lease-board.js';
export { WorkQueue, type WorkFeed, type WorkDelivery, type WorkFeedOptions, type WorkHandler } from './work-queue.js';
export { publishWithRetry } from './publish-with-retry.js';
export { MailBundler, type MailBundlerOptions } from './mail-bundler.js';
export { SlotBoard, type SlotClaim, type SlotRenewal, type SlotTaken, type SlotVerdict } from './slot-board.js';
export type { SlotHold } from './slot-hold.js';
export { PenaltyBoard, type HostView } from './penalty-board.js';
export { FlightBoard, type FlightClaim, type FlightHold, type FlightHolder } from './flight-board.js';
export { ReceiverBoard, type ReceiverBoardOptions } from './receiver-board.js';
export { CancelBoard } from './cancel-board.js';
export { PauseBoard } from './pause-board.js';
export { MemberBoard, type Member, type MemberBoardOptions } from './member-board.js';
export { GroupCall, type GroupCallOptions } from './group-call.js';
export { Rpc, type RpcCallOptions } from './rpc.js';
export type { RpcFrame } from './rpc-frame.js';
export type { RpcHandler, RpcServeOptions, RpcServer } from './rpc-service.js';
export {
  HandlerPatternError,
  NatsContext,
  NatsStrategy,
  traceOf,
  type NatsStrategyOptions,
  type RpcRequest,
} from './nats-strategy.js';
export { readBacklog, type Backlog } from './backlog.js';
