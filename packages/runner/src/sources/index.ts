export { codeChangeLines, codeChanges, type CodeChanges, hasCodeChanges } from './code-changes.js'
export { codeToShow } from './code-to-show.js'
export { storeCode } from './store-code.js'
export { codeNotStored, RecordedCode, sourceFile } from './recorded-code.js'
export {
  CONTENT_BYTES_MAX,
  filesOfCode,
  hasRecordedCode,
  parseSourceList,
  recordedSource,
  recordedSources,
  sourceListOf,
  SourceStore,
  storedContent,
} from './source-store.js'
export { removeUnusedSources } from './unused-sources.js'
