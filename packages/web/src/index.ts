export { addressOf, bearerOf, isSecret, RateLimit } from './api/access.js'
export { createApi } from './api/api.js'
export { mountViewer, viewerAssets, viewerStyleName, type ViewerPaths } from './api/mount-viewer.js'
export { createNodeServer } from './api/node-server.js'
export {
  securityHeaders,
  answerStream,
  EVENTS_STREAM,
  type GuardEnv,
  withCode,
} from './api/responses.js'
export {
  isLoopback,
  serveViewer,
  type ServeOptions,
  type ViewerServer,
} from './api/serve-viewer.js'
export type * from './api/run-repository.js'
export { copyAsCurl } from './model/copy-as-curl.js'
export { RunModel, type ModelOptions, type StepOptions } from './model/run-model.js'
export type * from './model/run-source.js'
export { compareStates, stateView, type StateView } from './model/state-view.js'
export { makeReceiptPage } from './report/make-receipt-page.js'
export { escapeHtml, makeReport, REPORT_MARK, type ReportContent } from './report/make-report.js'
