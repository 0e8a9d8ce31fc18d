import { wrongUsage } from '../errors/command-line.js'
import { recordProxy } from '../record-proxy.js'
import { replayProxy } from '../replay-proxy.js'
import { TRUST_OPTION } from '../trust.js'
import { text } from '../verb.js'
import type { OptionValues, Verb } from '../verb.js'

export const proxy: Verb = {
  usage: 'record --upstream <url>… [options] | replay <run> [options]',
  help: `Listens on the loopback and stands in for the providers. Point the base URL of
an SDK at it, or curl. \`record\` passes requests on and writes a tape; \`replay\`
answers from the tape, asks nobody, and says 502 and what differs for a request
that was not recorded. Both run until Ctrl-C.

For one command, \`retake record -- python agent.py\` does all of this by itself.

With one upstream every path goes there. With several, the first part of the
path is the name: /openai/v1/…; without it the Host header or a path that only
one of them has, like /v1/messages, decides.

Options:
  --upstream <[name=]url>  a provider; may be repeated (record)
  --port <port>            where to listen (default: 4141; 0: any that is free)
  --name <name>            what the run is called in lists (record)
  --matcher <name|file>    what may differ between requests; may be repeated:
                           dates, uuids, json-order, or a file, see
                           \`retake docs proxy\`
  --pace                   keep the recorded pauses (replay)
  --trust                  also load matchers of a tape from elsewhere
  --dir <folder>           where the tapes are (default: .retake/runs)
  --json                   one line of JSON when it listens, one when it ends

Examples:
  retake proxy record --upstream https://api.openai.com
  retake proxy record --upstream openai=https://api.openai.com \\
                      --upstream anthropic=https://api.anthropic.com
  retake proxy replay last --port 4141`,
  options: {
    ...TRUST_OPTION,
    upstream: { type: 'string', multiple: true },
    port: { type: 'string' },
    name: { type: 'string' },
    matcher: { type: 'string', multiple: true },
    pace: { type: 'boolean' },
    dir: { type: 'string' },
  },
  run(values, [what, ...rest]) {
    if (what === 'record' && rest.length === 0) return recordProxy(values, portOf(values))
    if (what === 'replay' && rest.length === 1)
      return replayProxy(values, portOf(values), rest[0] ?? '')
    throw wrongUsage(
      'proxy',
      what === 'replay' ? 'Name one run to replay.' : 'Say `record` or `replay`.',
      'For example: retake proxy replay last.',
    )
  },
}

function portOf(values: OptionValues): number {
  const port = Number(text(values, 'port') ?? 4141)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw wrongUsage(
    'proxy',
    `"${text(values, 'port')}" is no port.`,
    'A port is a number up to 65535.',
  )
}
