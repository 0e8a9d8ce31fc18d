import path from 'node:path'
import { serverErrors } from './errors.js'

interface Setting<T> {
  /** Environment variable. */
  readonly env: string
  readonly about: string
  /** Shown for the default; missing if there is none. */
  readonly shown?: string
  /** Never printed. */
  readonly secret?: true
  /** Parses the text; undefined if the setting is missing. Throws `Expected` with the valid values. */
  readonly read: (text: string | undefined) => T
}

class Expected extends Error {}
const expected = (what: string): never => {
  throw new Expected(what)
}

const text = (fallback: string) => (given: string | undefined) => given ?? fallback
const optional = (given: string | undefined) => given

const whole =
  (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  (given: string | undefined): number => {
    if (given === undefined) return fallback
    const value = Number(given)
    return Number.isInteger(value) && value >= min && value <= max
      ? value
      : expected(`a whole number from ${min} to ${max}`)
  }

const address =
  (protocols: readonly string[]) =>
  (given: string | undefined): URL | undefined => {
    if (given === undefined) return undefined
    const url = URL.canParse(given) ? new URL(given) : undefined
    return url !== undefined && protocols.includes(url.protocol)
      ? url
      : expected(`an address that starts with ${protocols.map((each) => `${each}//`).join(' or ')}`)
  }

const onOff = (given: string | undefined): boolean =>
  given === undefined || given === 'off' ? false : given === 'on' ? true : expected('"on" or "off"')

/** Every setting of the server, in the order in which `retake server config` lists them. */
const table = {
  data: {
    env: 'RETAKE_DATA',
    about: 'data folder: database, stored runs, keys, backups',
    shown: './retake-data',
    read: (given: string | undefined) => path.resolve(given ?? 'retake-data'),
  },
  host: {
    env: 'RETAKE_HOST',
    about: 'address to listen on',
    shown: '127.0.0.1',
    read: text('127.0.0.1'),
  },
  port: {
    env: 'RETAKE_PORT',
    about: 'port to listen on; 0: any free port',
    shown: '4700',
    read: whole(4700, 0, 65_535),
  },
  url: {
    env: 'RETAKE_URL',
    about: 'public address, with the path if the server is mounted under one',
    shown: 'http://localhost:<port>',
    read: address(['http:', 'https:']),
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    about: 'your own PostgreSQL, with a user that can create roles; sslmode=require for TLS',
    shown: 'a PostgreSQL in the data folder',
    secret: true,
    read: (given: string | undefined) => {
      const url = address(['postgres:', 'postgresql:'])(given)
      const mode = url?.searchParams.get('sslmode') ?? 'disable'
      // Other modes fall back to a connection without TLS.
      return /^(?:disable|require|verify-ca|verify-full)$/.test(mode)
        ? url
        : expected('sslmode=require, or sslmode=disable')
    },
  },
  s3Url: {
    env: 'RETAKE_S3_URL',
    about: 'S3 endpoint with bucket, for stored runs',
    shown: 'files in the data folder',
    read: address(['http:', 'https:']),
  },
  s3Region: {
    env: 'RETAKE_S3_REGION',
    about: 'region of the bucket',
    shown: 'auto',
    read: text('auto'),
  },
  s3KeyId: { env: 'RETAKE_S3_KEY_ID', about: 'access key ID for S3', read: optional },
  s3Secret: {
    env: 'RETAKE_S3_SECRET',
    about: 'secret access key for S3',
    secret: true,
    read: optional,
  },
  smtpUrl: {
    env: 'RETAKE_SMTP_URL',
    about: 'mail server; without one, links are printed to the log',
    secret: true,
    read: address(['smtp:', 'smtps:']),
  },
  mailFrom: {
    env: 'RETAKE_MAIL_FROM',
    about: 'sender address of emails',
    shown: 'retake@localhost',
    read: text('retake@localhost'),
  },
  oidcIssuer: {
    env: 'RETAKE_OIDC_ISSUER',
    about: 'OpenID Connect provider for single sign-on',
    read: address(['http:', 'https:']),
  },
  oidcTrustEmail: {
    env: 'RETAKE_OIDC_TRUST_EMAIL',
    about: 'on: trust email addresses that the provider does not mark as verified; some never do',
    shown: 'off',
    read: onOff,
  },
  oidcClientId: {
    env: 'RETAKE_OIDC_CLIENT_ID',
    about: 'client ID at the provider',
    read: optional,
  },
  oidcClientSecret: {
    env: 'RETAKE_OIDC_CLIENT_SECRET',
    about: 'client secret at the provider',
    secret: true,
    read: optional,
  },
  privateAddresses: {
    env: 'RETAKE_PRIVATE_ADDRESSES',
    about: 'on: allow webhooks and model endpoints in private networks',
    shown: 'off',
    read: onOff,
  },
  gitSources: {
    env: 'RETAKE_GIT_SOURCES',
    about:
      'sources that jobs can fetch code from: https:// addresses and folders, separated by commas',
    read: (given: string | undefined) =>
      (given ?? '').split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()])),
  },
  trustProxy: {
    env: 'RETAKE_TRUST_PROXY',
    about: 'on: read client addresses from X-Forwarded-For',
    shown: 'off',
    read: onOff,
  },
  workers: {
    env: 'RETAKE_WORKERS',
    about: 'jobs that the server runs concurrently; 0: use only `retake worker` elsewhere',
    shown: '1',
    read: whole(1, 0, 64),
  },
  workerToken: {
    env: 'RETAKE_WORKER_TOKEN',
    about: 'token for `retake worker`; at least 32 characters',
    secret: true,
    read: (given: string | undefined) =>
      given !== undefined && given.length < 32 ? expected('at least 32 characters') : given,
  },
  metricsToken: {
    env: 'RETAKE_METRICS_TOKEN',
    about: 'bearer token for /metrics; without it, only loopback clients can read them',
    secret: true,
    read: optional,
  },
  requestsPerMinute: {
    env: 'RETAKE_REQUESTS_PER_MINUTE',
    about: 'request limit per client',
    shown: '1200',
    read: whole(1200, 1),
  },
  maxFileBytes: {
    env: 'RETAKE_MAX_FILE_BYTES',
    about: 'maximum size of a file in a run',
    shown: '2147483648',
    read: whole(2 ** 31, 1),
  },
  quotaBytes: {
    env: 'RETAKE_QUOTA_BYTES',
    about: 'storage quota of each organization',
    shown: '107374182400',
    read: whole(100 * 2 ** 30, 1),
  },
  retentionFloorDays: {
    env: 'RETAKE_RETENTION_FLOOR_DAYS',
    about: 'minimum number of days to keep every run, whatever its project says',
    shown: '0',
    read: whole(0),
  },
  log: {
    env: 'RETAKE_LOG',
    about: '"json": one line of JSON per message',
    shown: 'text',
    read: (given: string | undefined) =>
      given === undefined || given === 'text' || given === 'json'
        ? (given ?? 'text')
        : expected('"json" or "text"'),
  },
} satisfies Readonly<Record<string, Setting<unknown>>>

export type Settings = {
  readonly [Name in keyof typeof table]: ReturnType<(typeof table)[Name]['read']>
}

export type SettingName = keyof typeof table

export interface ListedSetting {
  readonly name: SettingName
  readonly env: string
  readonly about: string
  readonly value?: string
  readonly default?: string
  readonly from: 'option' | 'environment' | 'default'
}

type Given = Readonly<Partial<Record<SettingName, string | undefined>>>
type Environment = Readonly<Record<string, string | undefined>>

/** Reads all settings. Options of the command line replace variables; an empty variable is missing. */
export function readSettings(options: Given, env: Environment): Settings {
  const entries = Object.entries(table).map(([name, setting]: [string, Setting<unknown>]) => {
    const { env: variable, read } = setting
    const given = givenText(options[name as SettingName], env[variable])
    try {
      return [name, read(given)]
    } catch (error) {
      if (!(error instanceof Expected)) throw error
      const shown = setting.secret ? '(hidden)' : (given ?? '')
      throw serverErrors.SETTING_INVALID(variable, shown, error.message)
    }
  })
  return Object.fromEntries(entries) as Settings
}

const givenText = (option: string | undefined, variable: string | undefined) =>
  option ?? (variable === '' ? undefined : variable)

/** Every setting with its value and where that comes from; secrets are hidden. */
export function listSettings(options: Given, env: Environment): ListedSetting[] {
  return Object.entries(table).map(([key, setting]: [string, Setting<unknown>]) => {
    const name = key as SettingName
    const value = givenText(options[name], env[setting.env])
    return {
      name,
      env: setting.env,
      about: setting.about,
      ...(value !== undefined && { value: setting.secret ? '(hidden)' : value }),
      ...(setting.shown !== undefined && { default: setting.shown }),
      from:
        options[name] !== undefined ? 'option' : value !== undefined ? 'environment' : 'default',
    }
  })
}
