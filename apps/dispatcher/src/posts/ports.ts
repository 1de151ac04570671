/** The ports of a run of posts to the adapters; narrow, so that a test can stand in. */
import type { BlobStore } from '@troupe/blob-store';
import type { ActorBus } from '@troupe/messaging';
import type { DeliveryRepository, WebhookSecrets } from '@troupe/persistence';

/** The store of page results: `Blobs`. */
export const PAGES = Symbol('stored pages');

export type Mailboxes = Pick<ActorBus, 'publishActor'>;
export type Blobs = Pick<BlobStore, 'get'>;
export type Deliveries = Pick<DeliveryRepository, 'pages' | 'attempted' | 'actions' | 'modelResult'>;
export type Secrets = { of(team: string): Promise<WebhookSecrets> };
