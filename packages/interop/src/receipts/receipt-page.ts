import { writeFileSync } from 'node:fs'
import { offers } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { writeOrReport } from '@retake/runner/verify'

type Content = Parameters<Awaited<ReturnType<NonNullable<typeof offers.receiptPage>>>>[0]

/** Writes the page that verifies receipts offline, which is part of the viewer. */
export async function writeReceiptPage(file: string, content: Content): Promise<void> {
  const makePage = await offers.receiptPage?.()
  if (makePage === undefined)
    throw cliErrors.CAPABILITY_MISSING('The page that verifies receipts', ['@retake/web'])
  writeOrReport(file, () => writeFileSync(file, makePage(content)))
}
