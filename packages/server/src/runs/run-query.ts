import { sql } from 'kysely'
import { type OrgRows, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'

/** A search such as `status:failed model:gpt-4o tag:refund since:7d wrong price`. */
export interface RunQuery {
  readonly fields: readonly { readonly name: FieldName; readonly value: string }[]
  readonly words: readonly string[]
  readonly since?: string
}

const FIELDS = ['status', 'model', 'tool', 'tag', 'cluster', 'name', 'parent'] as const
type FieldName = (typeof FIELDS)[number]
const QUERY_MAX = 500
const WORDS_MAX = 20

/** Words as they are indexed and searched. PostgreSQL handles only ASCII in all locales. */
export const wordsOf = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []

export function parseRunQuery(text: string, now = Date.now()): RunQuery {
  if (text.length > QUERY_MAX)
    throw serverErrors.REQUEST_INVALID('The search', `It has more than ${QUERY_MAX} characters.`)
  const fields: { name: FieldName; value: string }[] = []
  const words: string[] = []
  let since: string | undefined
  for (const part of text.split(/\s+/).filter((each) => each !== '')) {
    const [, name = '', value = ''] = /^(\w+):(.+)$/s.exec(part) ?? []
    if (name === 'since') {
      const [, amount = '', unit = ''] = /^(\d{1,4})([mhdw])$/.exec(value) ?? []
      if (amount === '')
        throw serverErrors.REQUEST_INVALID(
          'The search',
          '`since:` needs an age such as `2h` or `7d`.',
        )
      since = timeText(now - Number(amount) * (UNITS[unit] ?? 0))
    } else if (FIELDS.includes(name as FieldName)) fields.push({ name: name as FieldName, value })
    else words.push(...wordsOf(part))
  }
  return { fields, words: words.slice(0, WORDS_MAX), ...(since && { since }) }
}

const UNITS: Readonly<Record<string, number>> = { m: 60e3, h: 3600e3, d: 86_400e3, w: 604_800e3 }

/** A query for the matching runs of a project, newest first. */
export function matchingRuns(rows: OrgRows, project: string, { fields, words, since }: RunQuery) {
  let query = rows.selectFrom('run').where('project', '=', project)
  for (const { name, value } of fields) {
    if (name === 'model') query = query.where(sql<boolean>`${value} = any(models)`)
    else if (name === 'tool') query = query.where(sql<boolean>`${value} = any(tools)`)
    else if (name === 'tag') query = query.where(sql<boolean>`tags @> array[${value}]`)
    else if (name === 'name')
      query = query.where(sql<boolean>`strpos(lower(name), lower(${value})) > 0`)
    else query = query.where(name, '=', value)
  }
  if (since !== undefined) query = query.where('startedAt', '>=', since)
  if (words.length > 0) {
    const wanted = words.map((word) => `${word}:*`).join(' & ')
    query = query.where(sql<boolean>`search @@ to_tsquery('simple', ${wanted})`)
  }
  return query
}
