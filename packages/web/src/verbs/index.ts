import { offers, type VerbTable } from '@retake/runner/command-line'

offers.serveViewer = async () => (await import('../ui/index.js')).serveUntilSignal
offers.receiptPage = async () => (await import('../report/make-receipt-page.js')).makeReceiptPage

/** The commands of this package. */
export const webVerbs: VerbTable = {
  ui: {
    group: 'Look',
    summary: 'Open the viewer',
    load: () => import('./ui.js'),
  },
  report: {
    group: 'Look',
    summary: 'Write a run as HTML',
    load: () => import('./report.js'),
  },
}
