import { cost, duration } from '@retake/tape/present'
import type { TrialTable } from '@retake/tape'
import { Dialog } from '../design/dialog.js'
import { RateBar } from '../design/rate-bar.js'

const CELL = 'border-t border-line py-1.5 pr-4 align-top'

interface TrialTableDialogProps {
  readonly table: TrialTable
  readonly onClose: () => void
}

export const TrialTableDialog = ({ table, onClose }: TrialTableDialogProps) => (
  <Dialog
    title={`Models and prompts from step ${table.at} on`}
    isOpen
    onClose={onClose}
    size="large"
  >
    <p className="mb-3 text-muted">
      Forks that passed <code className="font-mono text-text">{table.oracle}</code>, with a 95 %
      interval. Cost and time are those of one fork.
    </p>
    <div className="overflow-x-auto">
      <table className="w-full text-sm whitespace-nowrap">
        <thead className="text-left text-muted">
          <tr>
            <th className="pr-4 pb-1 font-normal">variant</th>
            <th className="pr-4 pb-1 font-normal">passed</th>
            <th className="pr-4 pb-1 text-right font-normal">cost</th>
            <th className="pr-4 pb-1 text-right font-normal">time</th>
            <th className="pb-1 font-normal">first difference</th>
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" className={`${CELL} text-left font-mono font-medium`}>
                {row.name}
              </th>
              <td className={CELL}>
                <span className="flex items-center gap-2 tabular-nums">
                  <RateBar
                    {...(row.judged > 0 && { share: row.passed / row.judged })}
                    {...(row.interval && { interval: row.interval })}
                  />
                  {row.judged === 0 ? '–' : `${row.passed} of ${row.judged}`}
                </span>
              </td>
              <td className={`${CELL} text-right tabular-nums`}>
                {row.costUsd === undefined || row.trials === 0
                  ? '–'
                  : cost(row.costUsd / row.trials)}
              </td>
              <td className={`${CELL} text-right tabular-nums`}>
                {row.medianMs === undefined ? '–' : duration(row.medianMs)}
              </td>
              <td className={`${CELL} min-w-40 pr-0 whitespace-normal`}>
                <span className="font-mono wrap-anywhere">{row.difference}</span>
                {row.note !== undefined && <span className="block text-warning">{row.note}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  </Dialog>
)
