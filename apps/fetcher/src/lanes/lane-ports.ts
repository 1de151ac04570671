/** Messages of lanes, which may wait a moment to be sent together: see `MailBundler`. */
export const LANE_MAIL = Symbol('mail of lanes');
/** `() => boolean`: there is no browser here, and pages that need one may wait for a fetcher that has. */
export const HANDS_OVER = Symbol('hands over');
