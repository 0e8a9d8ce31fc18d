import { readdirSync } from 'node:fs'
import path from 'node:path'
import type { ViewerPart } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import type { ShownDecision, WaitingApproval } from '@retake/tape'
import { attempt } from '@retake/tape/format'
import { argumentLines } from '@retake/tape/present'

const REASON_MAX = 1000

/** Guarded calls that wait for approval, in the viewer. */
export default {
  tabs: ['approvals'],
  routes: ({ store }) => [
    {
      method: 'get',
      path: '/approvals',
      answer: async (): Promise<WaitingApproval[]> => {
        const runs = attempt(() => readdirSync(store.folder), [])
          .filter((name) => name.endsWith('.approvals'))
          .map((name) => path.basename(name, '.approvals'))
        // Most folders have none, and load nothing.
        if (runs.length === 0) return []
        const { pendingApprovals } = await import('./approval-files.js')
        return runs
          .flatMap((run) =>
            pendingApprovals(store.pathOf(run), Date.now()).map(({ request, of }) => {
              const { tool, args, guard, rule, why, event, askedAt, expiresAt } = request
              const shown = argumentLines(args, request.lastApproved).join('\n')
              return { id: of, run, tool, args: shown, guard, rule, why, event, askedAt, expiresAt }
            }),
          )
          .toSorted((a, b) => a.expiresAt - b.expiresAt)
      },
    },
    {
      method: 'post',
      path: '/runs/:run/approvals',
      body: {
        id: {
          expected: 'the id of a call',
          fits: (value) => typeof value === 'string' && /^[\da-f]{64}$/.test(value),
        },
        approved: { expected: 'true or false', fits: (value) => typeof value === 'boolean' },
        reason: {
          expected: `a text of up to ${REASON_MAX} characters`,
          fits: (value) => typeof value === 'string' && value.trim().length <= REASON_MAX,
          isOptional: true,
        },
      },
      answer: async ({ params: { run = '' }, body }) => {
        const { id, approved, reason: given } = body as unknown as ShownDecision
        const reason = given?.trim()
        const { decideApproval } = await import('./approval-files.js')
        const { userName } = await import('./prompt-terminal.js')
        const decision = { approved, by: userName(), ...(reason ? { reason } : {}) }
        if (!decideApproval(store.find(run), id, decision, Date.now()))
          throw cliErrors.APPROVAL_NOT_PENDING(id)
        return {}
      },
    },
  ],
} satisfies ViewerPart
