export { changedText, codeToShow } from './code-to-show.js'
export { keepCode } from './keep-code.js'
export { RecordedCode, sourceFile } from './recorded-code.js'
export { filesOfCode, recordedSources, SourceStore } from './source-store.js'
