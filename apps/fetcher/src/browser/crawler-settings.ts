/**
 * Crawlee's view of its surroundings: nothing from environment and files, and the load as this project measures it.
 */
import {
  Configuration,
  EventManager,
  LogLevel,
  type ConfigurationOptions,
  type StorageClient,
} from '@crawlee/playwright';
import { EventEmitter } from 'node:events';

/** Share of the processors in use. Above it no place is opened, and those above the least are closed again. */
const BUSY_ABOVE = 0.85;
/** The load is read twice before each decision. */
const LOOK_EVERY_MS = 500;
const EVENT = 'systemInfo' as Parameters<EventManager['emit']>[0];

/** The load of the machine at the moment. */
export interface Load {
  /** Share of the processors in use since it was asked last, 0 to 1. */
  readProcessors(): number;
  /** Memory that the browsers hold. */
  readBytes(): number;
  /** Memory that they may hold together. */
  maxBytes: number;
}

/** Crawlee's settings, whatever variables and `crawlee.json` say. */
export class CrawlerSettings extends Configuration {
  private readonly own: ConfigurationOptions;
  private readonly storage: StorageClient;

  constructor(load: Load) {
    const { defaultMaxListeners } = EventEmitter;
    super({ persistStorage: false });
    EventEmitter.defaultMaxListeners = defaultMaxListeners;
    this.own = { persistStorage: false, purgeOnStart: false, memoryMbytes: Math.ceil(load.maxBytes / 1024 / 1024) };
    this.storage = this.createMemoryStorage({ persistStorage: false, writeMetadata: false });
    this.useEventManager(new LoadEvents(load, this));
  }

  /** Also called by the parent's constructor. */
  override get<T extends keyof ConfigurationOptions, U extends ConfigurationOptions[T]>(key: T, fallback?: U): U {
    if (key === 'logLevel') return LogLevel.OFF as U;
    if (key === 'persistStorage') return false as U;
    return (this.own?.[key] ?? fallback) as U;
  }

  override getStorageClient(): StorageClient {
    return this.storage;
  }
}

/** Tells Crawlee's signals of memory and processors. Nothing is ever persisted. */
class LoadEvents extends EventManager {
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly load: Load,
    config: Configuration,
  ) {
    super(config);
  }

  override init(): Promise<void> {
    this.initialized = true;
    this.load.readProcessors();
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
    return Promise.resolve();
  }

  override close(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.initialized = false;
    return Promise.resolve();
  }

  private look(): void {
    const share = this.load.readProcessors();
    this.emit(EVENT, {
      createdAt: new Date(),
      cpuCurrentUsage: share * 100,
      isCpuOverloaded: share > BUSY_ABOVE,
      memCurrentBytes: this.load.readBytes(),
      memTotalBytes: this.load.maxBytes,
    });
  }
}
