import { DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { TEAM_OPTIONS, TeamClient, teamProject } from '../team/team-client.js'
import { pullRun } from '../team/transfer-runs.js'

export default {
  arguments: '<run...>',
  description: `Fetches runs from a project on a team server into the tape folder, together with
the runs that they continue. They were recorded elsewhere, so \`retake replay\` asks before it
starts their programs.`,
  options: {
    ...TEAM_OPTIONS,
    ...DIR_OPTION,
  },
  examples: ['retake pull 20261117-093012-kqzt --project acme/refunds'],
  async run(options, names) {
    const source = teamProject({ server: options.text('server'), project: options.text('project') })
    const client = new TeamClient(source.server, source.key)
    const pulled: Awaited<ReturnType<typeof pullRun>> = []
    for (const name of names) pulled.push(...(await pullRun(client, source, name, options.store)))
    options.print({ runs: pulled }, () =>
      pulled.map(({ run, outcome }) =>
        outcome === 'exists' ? `${run} · is here already` : `${run} · fetched`,
      ),
    )
    return 0
  },
} satisfies Verb
