import { startViewer } from './app.js'
import { openReportBackend } from './sources/report-home.js'

startViewer(openReportBackend())
