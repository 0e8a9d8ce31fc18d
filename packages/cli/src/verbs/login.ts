import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { usageError, type Verb } from '@retake/runner/command-line'
import { cliErrors } from '@retake/runner/errors'
import { saveLogin, TeamClient } from '../team/team-client.js'
import { openBrowser } from '@retake/runner/terminal'

interface DeviceCode {
  readonly device_code: string
  readonly user_code: string
  readonly verification_uri: string
  readonly verification_uri_complete: string
  readonly expires_in: number
  readonly interval: number
}

const CLIENT = { client_id: 'retake' }

export default {
  arguments: '<url>',
  description: `Prints a code and opens a page in the browser, where you confirm the code. Then
creates an API key for this machine and stores it outside of your projects.`,
  options: {
    '--org <name>': 'organization, as in addresses (required)',
    '--days <N>': 'days until the key expires (default: 90)',
    '--no-open': 'do not open a browser',
    '--json': 'print the address and code, then the result, as JSON',
  },
  examples: ['retake login https://retake.example.com --org acme'],
  async run(options, [url = '']) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw usageError(`"${url}" is not a valid URL.`, 'Write it with http:// or https://.')
    const server = url.replace(/\/$/, '')
    const org = options.text('org') ?? ''
    const client = new TeamClient(server)
    const code = await client.json<DeviceCode>('POST', '/api/auth/device/code', CLIENT)
    if (options.json)
      console.log(JSON.stringify({ url: code.verification_uri_complete, code: code.user_code }))
    else
      process.stderr.write(
        `Open ${code.verification_uri_complete}\nand confirm this code: ${code.user_code}\n`,
      )
    if (!options.flag('no-open') && !options.json) await openBrowser(code.verification_uri_complete)
    const token = await waitForToken(client, server, code)
    const made = await new TeamClient(server, token).json<{ key: string }>(
      'POST',
      `/api/v1/${encodeURIComponent(org)}/keys`,
      { name: `retake login on ${hostname()}`, days: options.number('days', { least: 1 }) ?? 90 },
    )
    saveLogin({ server, org, key: made.key })
    options.print({ server, org }, () => [`Signed in to ${server} as a member of ${org}.`])
    return 0
  },
} satisfies Verb

/** Polls until the user has confirmed the code. */
async function waitForToken(
  client: TeamClient,
  server: string,
  { device_code, expires_in, interval }: DeviceCode,
): Promise<string> {
  const until = Date.now() + expires_in * 1000
  let seconds = interval
  while (Date.now() < until) {
    await pause(seconds * 1000)
    const response = await fetch(`${server}/api/auth/device/token`, {
      method: 'POST',
      redirect: 'error',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        device_code,
        ...CLIENT,
      }),
    }).catch(() => undefined)
    const answer = (await response?.json().catch(() => undefined)) as
      | { access_token?: string; error?: string }
      | undefined
    if (answer?.access_token !== undefined) return answer.access_token
    if (answer?.error === 'slow_down') seconds += 5
    else if (answer?.error === 'access_denied') throw cliErrors.TEAM_LOGIN_DENIED(server)
  }
  throw cliErrors.TEAM_LOGIN_DENIED(server)
}
