/** What allows a style on this page; empty where the page asks for none. */
export const pageNonce = (): string =>
  document.querySelector('meta[name="csp-nonce"]')?.getAttribute('content') ?? ''
