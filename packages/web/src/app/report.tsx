import { startViewer } from './app.js'
import { openReportHome } from './sources/report-home.js'

startViewer(openReportHome())
