import path from 'node:path'
import { ALLOW_SECRETS_OPTION, DIR_OPTION, type Verb } from '@retake/runner/command-line'
import { TEAM_OPTIONS, TeamClient, teamProject } from '../team/team-client.js'
import { followRun, type PushedRun, pushRun } from '../team/transfer-runs.js'
import { bytesText } from '@retake/tape/present'

export default {
  arguments: '<run...>',
  description: `Sends runs to a project on a team server, together with the runs that they
continue. Files that the server already has are not sent again, and you can repeat an interrupted
push. A run that seems to contain secrets is refused. In CI, set RETAKE_SERVER, RETAKE_PROJECT and
RETAKE_API_KEY.`,
  options: {
    '--code': 'also send the program, so that workers can replay, fork, blame and fix it',
    '--follow': 'send a run while it is recorded, so that others can watch it',
    ...TEAM_OPTIONS,
    ...ALLOW_SECRETS_OPTION,
    ...DIR_OPTION,
    '--json': 'print the pushed runs and their addresses as JSON',
  },
  examples: ['retake push last --project acme/refunds', 'retake push last:failed --code'],
  async run(options, names) {
    const target = teamProject({ server: options.text('server'), project: options.text('project') })
    const client = new TeamClient(target.server, target.key)
    const pushed: PushedRun[] = []
    for (const name of names) {
      const follows = options.flag('follow')
      // A run that has just started has no tape yet.
      const tape = follows && name.endsWith('.tape') ? path.resolve(name) : options.store.find(name)
      if (follows) await followRun(client, target, tape)
      pushed.push(
        ...(await pushRun(client, target, tape, {
          allowsSecrets: options.flag('allow-secrets'),
          withCode: options.flag('code'),
          onProgress: (run, sent, all) => {
            if (process.stderr.isTTY && !options.json)
              process.stderr.write(`\r${run} · ${bytesText(sent)} of ${bytesText(all)}\x1b[K`)
          },
        })),
      )
    }
    if (process.stderr.isTTY && !options.json) process.stderr.write('\r\x1b[K')
    options.print({ runs: pushed }, () =>
      pushed.map(({ run, outcome, sentBytes, url }) =>
        outcome === 'exists' && sentBytes === 0
          ? `${run} · was there already · ${url}`
          : `${run} · sent ${bytesText(sentBytes)} · ${url}`,
      ),
    )
    return 0
  },
} satisfies Verb
