/** The values that leak today, look-alikes that are changed today, and what is new since then. */
import { readFileSync, writeFileSync } from 'node:fs'
import { cases } from './cases.mjs'
import { lookAlikes } from './look-alikes.mjs'

/** @typedef {import('./measure.mjs').Measured} Measured */

/** The lists only get shorter. Each has the ids that are bad today, and finds them in a measurement. */
const lists = [
  {
    path: new URL('not-hidden-yet.json', import.meta.url),
    /** @param {Measured} measured */
    bad: ({ leaks }) => [...leaks.keys()],
  },
  {
    path: new URL('changed-yet.json', import.meta.url),
    /** @param {Measured} measured */
    bad: ({ changed }) => changed,
  },
]

/** @param {URL} path @returns {string[]} */
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))

/**
 * @param {Measured} measured
 * @returns {{ added: string[], removable: string[] }} Ids that are bad though they are not listed,
 *   and listed ones that are good now, or do not exist.
 */
export function compareWithLists(measured) {
  const added = lists.flatMap(({ path, bad }) => {
    const listed = read(path)
    return bad(measured).filter((id) => !listed.includes(id))
  })
  const removable = lists.flatMap(({ path, bad }) => {
    const ids = bad(measured)
    return read(path).filter((id) => !ids.includes(id))
  })
  return { added: added.toSorted(), removable: removable.toSorted() }
}

/** Removes what is good now from the lists. @param {Measured} measured */
export function shortenLists(measured) {
  for (const { path, bad } of lists) {
    const ids = bad(measured)
    const rest = read(path).filter((id) => ids.includes(id))
    // As the formatter of this repository writes lists.
    const line = `[${rest.map((id) => JSON.stringify(id)).join(', ')}]`
    writeFileSync(path, `${line.length <= 100 ? line : JSON.stringify(rest, null, 2)}\n`)
  }
}

/** @param {readonly (readonly (string | number)[])[]} rows */
function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => `${row[column]}`.length)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        typeof cell === 'number' ? `${cell}`.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** Counts of leaking and of all values by one property. */
function countsBy(property, leaks) {
  const rows = [...new Set(cases.map((each) => each[property]))].map((value) => {
    const members = cases.filter((each) => each[property] === value)
    return [value, members.filter(({ id }) => leaks.has(id)).length, members.length]
  })
  return aligned([[property, 'leak', 'of'], ...rows.toSorted((left, right) => right[1] - left[1])])
}

/** @param {import('./measure.mjs').Measured} measured @returns {string} */
export function missesTable({ leaks, changed, checks, wrong }) {
  const missed = cases.filter(({ id }) => leaks.has(id))
  const rows = missed.map((each) => [
    each.format,
    each.place,
    each.encoding,
    leaks.get(each.id).join(' '),
    each.why,
  ])
  return [
    ...aligned([['format', 'place', 'encoding', 'readable in', 'why it is a secret'], ...rows]),
    '',
    `${cases.length} values: ${cases.length - missed.length} hidden, ${missed.length} leak.`,
    `${lookAlikes.length} look-alikes: ${changed.length} changed${changed.map((id) => `\n  ${id}`).join('')}.`,
    `${checks} checks of what programs got: ${wrong.length} wrong${wrong.map((id) => `\n  ${id}`).join('')}.`,
  ].join('\n')
}

/** @param {import('./measure.mjs').Measured} measured @returns {string} */
export function countsTable({ leaks }) {
  return ['place', 'format', 'group', 'encoding', 'by']
    .map((property) => countsBy(property, leaks).join('\n'))
    .join('\n\n')
}
