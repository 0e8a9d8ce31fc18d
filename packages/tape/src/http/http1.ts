/**
 * HTTP/1.1 read from raw bytes of either direction of a connection. It serves
 * the recorder, which sees only a socket, and the read model, which sees only
 * what the recorder kept. It reads; it does not police: what it accepts is
 * wider than what a server should.
 */
export type { Http1Head, Http1RequestHead, Http1ResponseHead } from './http1-head.js'
export {
  Http1Scanner,
  type Http1Hooks,
  type Http1Message,
  type Http1Request,
  type Http1Response,
} from './http1-scanner.js'
