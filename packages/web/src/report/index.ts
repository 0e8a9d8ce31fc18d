export { reportRun } from './report-run.js'
