import type { Page, Request } from 'playwright-core';

/** Playwright throws for a request whose frame is gone. */
export function isMainNavigation(request: Request, page: Page): boolean {
  try {
    return request.isNavigationRequest() && request.frame() === page.mainFrame();
  } catch {
    return false;
  }
}
