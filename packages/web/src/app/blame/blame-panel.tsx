import { ErrorNote } from '../design/error-note.js'
import { Spinner } from '../design/spinner.js'
import type { Run } from '../run/use-run.js'
import { Section } from '../step/section.js'
import { BlameVerdict } from './blame-verdict.js'
import type { BlameView } from './blame-view.js'
import { CauseSets } from './cause-sets.js'
import { EvidenceTree } from './evidence-tree.js'
import { NotSearched } from './not-searched.js'
import { RankedSteps } from './ranked-steps.js'
import { RiskCurve } from './risk-curve.js'
import { SearchFacts } from './search-facts.js'
import { useBlame } from './use-blame.js'

/** Which steps caused the failure, how sure that is, and what it rests on. */
export function BlamePanel({ run }: { readonly run: Run }) {
  const { view, isRead, error } = useBlame(run)
  return (
    <section
      aria-label="Blame"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reached by keyboard
      tabIndex={0}
      className="@container h-full overflow-auto p-3"
    >
      {view !== undefined ? (
        <Findings run={run} view={view} />
      ) : error !== null ? (
        <ErrorNote error={error} />
      ) : isRead || run.head.status === 'recording' ? (
        <NotSearched run={run} />
      ) : (
        <Spinner label="Reading what blame found" />
      )}
    </section>
  )
}

function Findings({ run, view }: { readonly run: Run; readonly view: BlameView }) {
  const { causes, riskCurve, evidence } = view.findings
  return (
    <div className="flex flex-col gap-4">
      <BlameVerdict run={run} view={view} />
      {causes.length > 0 && (
        <Section title="Causes">
          <CauseSets run={run} view={view} />
        </Section>
      )}
      <Section title="Steps, ranked">
        <RankedSteps run={run} view={view} />
      </Section>
      {riskCurve.length > 0 && (
        <Section title="Risk: how often it fails when the steps up to one are kept">
          <RiskCurve run={run} view={view} />
        </Section>
      )}
      {evidence.length > 0 && (
        <Section title="Evidence">
          <EvidenceTree view={view} />
        </Section>
      )}
      <Section title="The search">
        <SearchFacts view={view} />
      </Section>
    </div>
  )
}
