/** HTTP/1 messages in raw bytes, without a platform. */
export * from './http1.js'
