import { useQuery } from '@tanstack/react-query'
import type { Run } from '../run/use-run.js'
import { useSelection } from '../run/use-selection.js'

/** The step that is looked at. */
export function StepPanel({ run }: { readonly run: Run }) {
  const { step } = useSelection()
  const detail = useQuery({
    queryKey: ['step', run.id, step],
    queryFn: () => run.source.step(step ?? ''),
    enabled: step !== undefined,
  })
  return (
    <pre className="min-w-0 flex-1 overflow-auto p-3 font-mono text-sm">
      {JSON.stringify(detail.data, undefined, 2)}
    </pre>
  )
}
