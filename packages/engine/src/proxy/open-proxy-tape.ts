import { type Durability, type ProxyDetails, RECEIPTS_FLAG } from '@retake/tape/format'
import { TapeWriter } from '@retake/tape/node'
import { maskUrl } from '../headers.js'
import { maskedEnvironment } from '../secrets.js'
import { PROXY_FLAGS } from '../recorder-flags.js'
import { withoutSession } from './base-url-variables.js'

export interface ProxyTapeOptions {
  readonly tape: string
  readonly id: string
  readonly name: string
  readonly proxy: ProxyDetails
  /** The command that runs with the proxy, so that a replay can run it again. */
  readonly command?: readonly string[]
  readonly tags?: readonly string[] | undefined
  /** `machine` unless set. */
  readonly durability?: Durability | undefined
  readonly sign?: boolean | undefined
}

/** A new tape for the requests of a program through a proxy. */
export function openProxyTape(options: ProxyTapeOptions): TapeWriter {
  const { tape, id, name, proxy, command, tags, durability = 'machine', sign } = options
  return TapeWriter.create(
    tape,
    {
      type: 'run',
      id,
      name,
      startedAt: Date.now(),
      scope: 'process',
      node: process.version,
      flags: sign ? [...PROXY_FLAGS, RECEIPTS_FLAG] : PROXY_FLAGS,
      durability,
    },
    {
      ...(command !== undefined && {
        command,
        env: maskedEnvironment(withoutSession(process.env)),
      }),
      cwd: process.cwd(),
      ...(tags && { tags }),
      platform: `${process.platform} ${process.arch}`,
      // Passwords in addresses are omitted: a replay sends nothing, and compares addresses without
      // them.
      proxy: {
        ...proxy,
        routes: proxy.routes.map(({ name: route, upstream }) => ({
          name: route,
          upstream: maskUrl(upstream).replace(/\/+$/, ''),
        })),
      },
    },
  )
}
