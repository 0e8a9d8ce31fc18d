import { requireVersion } from '../supported-version.js'

/** The versions this adapter was written for. */
export const requireAiSdk = (): void => requireVersion({ package: 'ai', from: '6.0', to: '7' })
