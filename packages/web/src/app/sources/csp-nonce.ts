/** The nonce that this page's policy allows for styles; empty where there is no such policy. */
export const cspNonce = (): string =>
  document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
