export { codeToShow } from './code-to-show.js'
export { keepCode } from './keep-code.js'
export { RecordedCode, sourceFile } from './recorded-code.js'
export {
  filesOfCode,
  hasRecordedCode,
  recordedSource,
  recordedSources,
  SourceStore,
} from './source-store.js'
