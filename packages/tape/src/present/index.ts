/** Words and figures to show, the same in the terminal, on the page and in exports. */
export { cutAt } from '../format/clip-text.js'
export * from './argument-lines.js'
export * from './blame-words.js'
export * from './figures.js'
export * from './line-diff.js'
export * from './receipt-lines.js'
export * from './run-facts.js'
export * from './step-row.js'
