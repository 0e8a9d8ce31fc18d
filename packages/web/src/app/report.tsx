import { startViewer } from './app.js'
import { openReportBackend } from './sources/report-backend.js'

startViewer(openReportBackend())
