import { offers, type VerbTable } from '@retake/runner/command-line'

offers.serveViewer = async () => (await import('../ui/index.js')).serveUntilSignal
offers.receiptPage = async () => (await import('../report/make-receipt-page.js')).makeReceiptPage

/** The commands of this package. */
export const webVerbs: VerbTable = {
  ui: ['Open the viewer to inspect and change a run', () => import('./ui.js')],
  report: ['Write a run and the viewer into one HTML file', () => import('./report.js')],
}
