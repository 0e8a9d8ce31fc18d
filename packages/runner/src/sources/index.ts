export { codeToShow } from './code-to-show.js'
export { keepCode } from './keep-code.js'
export { hasRecordedCode, recordedSource } from './source-store.js'
export { RecordedCode, sourceFile } from './recorded-code.js'
export {
  CONTENT_BYTES_MAX,
  filesOfCode,
  hasRecordedCode,
  recordedSources,
  SourceStore,
} from './source-store.js'
