/** Shapes of the pages by which bot walls answer, and of ordinary pages that resemble them. Written for the specs. */

interface Shape {
  html: string;
  statusCode: number;
}

const page = (title: string, body: string, head = ''): string =>
  `<!doctype html><html><head><title>${title}</title>${head}</head><body>${body}</body></html>`;

export const WALLS: Record<string, Shape> = {
  'Cloudflare, interstitial': {
    statusCode: 403,
    html: page(
      'Just a moment...',
      '<div id="cf-chl-widget"></div><script>window._cf_chl_opt={cType:"managed"}</script>',
    ),
  },
  'Cloudflare, address refused': {
    statusCode: 403,
    html: page(
      'Attention Required! | Cloudflare',
      '<h1>Sorry, you have been blocked</h1><p>You are unable to access this site.</p>',
    ),
  },
  'Akamai, refusal': {
    statusCode: 403,
    html: page(
      'Access Denied',
      '<h1>Access Denied</h1>You have no permission.<p>Reference #18.1</p><p>https://errors.edgesuite.net/18.1</p>',
    ),
  },
  'Akamai, challenge': {
    statusCode: 200,
    html: page('', '<div id="sec-if-cpt-container"></div><script src="/_sec/cp_challenge/ak.js"></script>'),
  },
  DataDome: {
    statusCode: 403,
    html: page(
      'shop.example',
      `<script>var dd={'rt':'c','host':'geo.captcha-delivery.com'}</script><script src="https://ct.captcha-delivery.com/c.js"></script>`,
    ),
  },
  'PerimeterX, with success': {
    statusCode: 200,
    html: page(
      'Robot or human?',
      '<p>Press &amp; hold the button.</p><div id="px-captcha"></div><script src="https://captcha.px-cdn.net/x.js"></script>',
    ),
  },
  'PerimeterX, refusal': {
    statusCode: 403,
    html: page(
      'Access to this page has been denied',
      '<p>Because we believe you are using automation tools.</p><script>window._pxAppId="PX1"</script>',
    ),
  },
  'Imperva, frame': {
    statusCode: 200,
    html: page(
      '',
      '<iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=1">Request unsuccessful. Incapsula incident ID: 1-2</iframe>',
    ),
  },
  'Imperva, script alone': {
    statusCode: 200,
    html: '<html><head><script src="/_Incapsula_Resource?SWJIYLWA=7"></script></head><body></body></html>',
  },
  'AWS WAF, challenge': {
    statusCode: 202,
    html: page(
      '',
      '<div id="challenge-container"></div><script>window.gokuProps={"key":"k"}; window.awsWafCookieDomainList=[]</script>',
    ),
  },
  'AWS WAF, captcha': {
    statusCode: 405,
    html: page(
      'Human Verification',
      '<div id="captcha-container"></div><script src="https://a.token.awswaf.com/a/captcha.js"></script>',
    ),
  },
  Sucuri: {
    statusCode: 403,
    html: page('Sucuri WebSite Firewall - Access Denied', '<h1>Access Denied</h1><p>Block ID: EXP017</p>'),
  },
  'Sucuri, script': {
    statusCode: 200,
    html: page('You are being redirected...', '<script>document.cookie="sucuri_cloudproxy_uuid_1=2"</script>'),
  },
  'hCaptcha gate': {
    statusCode: 200,
    html: page(
      'shop.example',
      `<p>Please verify that you're human to go on.</p><form><div class="h-captcha"></div></form>`,
    ),
  },
  'reCAPTCHA gate': {
    statusCode: 200,
    html: page(
      'Sorry',
      '<p>Our systems have detected unusual traffic from your network.</p><div class="g-recaptcha"></div>',
    ),
  },
  'Turnstile on a refusal': {
    statusCode: 429,
    html: page('Hold on', '<p>Slow down</p><div class="cf-turnstile"></div>'),
  },
};

const STORY = 'A long walk along the river led us past three mills and one inn, where we had bread and soup. '.repeat(
  8,
);

export const ORDINARY: Record<string, Shape> = {
  'an article on captchas': {
    statusCode: 200,
    html: page(
      'Are captchas dead?',
      `<h1>Are captchas dead?</h1><p>They ask us to verify that you are human. ${STORY}</p>`,
    ),
  },
  'a short note on a bot wall': {
    statusCode: 200,
    html: page(
      'What “Just a moment” means',
      '<h1>Note</h1><p>Some sites press you to verify that you are human; px and others do.</p>',
    ),
  },
  'a contact form with a captcha': {
    statusCode: 200,
    html: page(
      'Contact',
      '<h1>Write to us</h1><form><input type="email"><textarea></textarea><p>Please confirm you are not a robot.</p><div class="g-recaptcha"></div></form>',
    ),
  },
  'a log-in with a captcha': {
    statusCode: 200,
    html: page(
      'Log in',
      '<form><input type="text" name="u"><input type="password" name="p"><div class="h-captcha"></div></form><p>Welcome back, dear reader of this site.</p>',
    ),
  },
  'a page that Imperva watches over': {
    statusCode: 200,
    html: page(
      'Opening hours',
      '<h1>Opening hours</h1><p>Monday to Friday, nine to five, and on Saturdays by appointment.</p>',
      '<script src="/_Incapsula_Resource?SWJIYLWA=7"></script>',
    ),
  },
  'a page that Cloudflare watches over': {
    statusCode: 200,
    html: page(
      'Opening hours',
      '<h1>Opening hours</h1><p>Monday to Friday, nine to five, and on Saturdays by appointment.</p>',
      '<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>',
    ),
  },
  'an application’s own refusal': {
    statusCode: 403,
    html: page('Members only', '<h1>Members only</h1><p>This part of the library is for members. Ask at the desk.</p>'),
  },
  'a missing page that tells of captchas': {
    statusCode: 404,
    html: page('Not found', '<p>The page on captchas has moved.</p><div class="g-recaptcha"></div>'),
  },
};
