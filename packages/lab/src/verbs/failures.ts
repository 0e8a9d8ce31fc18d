import { duration, plural } from '@retake/tape/present'
import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { clusterStore } from '../fix/clusters.js'
import { fromHere, printable } from '@retake/runner/terminal'

export default {
  arguments: '',
  description: `Groups failed runs that probably have the same cause: by program, error, location
in the code, symptom, and the cause that \`retake blame\` found. Lists the largest group first. A
run failed if it ended with an exception, a signal or a nonzero exit code.`,
  options: {
    '--since <when>':
      'runs that started since then: 30m, 12h, 7d, 2w, or a date such as 2026-11-15',
    ...DIR_OPTION,
  },
  examples: ['retake failures', 'retake failures --since 7d', 'retake fix --cluster 3fa92c10'],
  run(options) {
    const clusters = clusterStore(options.store, options.time('since'))
    options.print({ clusters }, ({ paint }) => {
      if (clusters.length === 0) return ['No failed runs.']
      return clusters.flatMap((cluster) => {
        const { id, class: kind, title, program, isImported, site, cause, runs, newestAt } = cluster
        const shown = runs.slice(0, 3).map((run) => run.id)
        return [
          `${paint('bold', plural(runs.length, 'run'))}  ${kind === 'unknown' ? '' : `${kind}: `}${printable(title)}`,
          `  ${[isImported ? printable(program) : fromHere(program), ...(site === undefined ? [] : [`at ${site}`]), `newest ${duration(Date.now() - newestAt)} ago`].join(' · ')}`,
          ...(cause === undefined ? [] : [`  cause  ${printable(cause)}`]),
          `  runs   ${shown.join(', ')}${runs.length > shown.length ? `, and ${runs.length - shown.length} more` : ''}`,
          ...(isImported ? [] : [`  fix    retake fix --cluster ${id}`]),
          '',
        ]
      })
    })
    return 0
  },
} satisfies Verb
