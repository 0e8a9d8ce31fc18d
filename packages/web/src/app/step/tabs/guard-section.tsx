import { driftText, type StepGuard } from '@retake/tape'
import { Facts } from '../../design/facts.js'
import { Section } from '../section.js'
import { VisibleText } from '../text/visible-text.js'

/** What a guard did with a call: which rule decided, who was asked, what did not fit. */
export function GuardSection({ guard }: { readonly guard: StepGuard }) {
  const { rule, code, status, policy, exitReason, approval, served, attempts } = guard
  const { drift = [], blocked = [] } = guard
  const remarks = [...drift.map(driftText), ...blocked.map((what) => `refused: ${what}`)]
  return (
    <Section title="Guard">
      <Facts
        className="text-sm"
        facts={[
          {
            label: 'outcome',
            value: status === 'stopped' || status === 'in doubt' ? status : undefined,
          },
          { label: 'rule', value: rule ?? 'default', isMono: true },
          { label: 'code', value: status === 'done' ? undefined : code, isMono: true },
          { label: 'stopped by', value: exitReason },
          {
            label: approval?.how === 'break-glass' ? 'break-glass by' : 'decided by',
            value: approval && (
              <VisibleText
                text={[approval.by, ...(approval.reason ? [approval.reason] : [])].join(': ')}
              />
            ),
          },
          { label: 'served from', value: served && `${served.run} e${served.seq}`, isMono: true },
          {
            label: 'attempts',
            value: attempts !== undefined && attempts > 1 ? attempts : undefined,
          },
          { label: 'policy', value: policy, isMono: true },
        ]}
      />
      {remarks.length > 0 && (
        <ul className="mt-1 text-sm text-muted">
          {remarks.map((remark) => (
            <li key={remark}>
              <VisibleText text={remark} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
