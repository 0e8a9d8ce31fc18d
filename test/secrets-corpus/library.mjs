/** A server's job: two runs of the library, with secrets in what goes in, comes out and fails. */
import { record } from 'retake'
import { casesAt } from './cases.mjs'

const entries = (place) =>
  Object.fromEntries(
    casesAt(place).map(({ number, field, text }) => [`job${number}`, { [field]: text }]),
  )

const input = entries('run-input')
const wanted = entries('run-output')
const failures = casesAt('run-error').map(({ text }) => text)

const isSame = (left, right) => JSON.stringify(left) === JSON.stringify(right)

const { output } = await record({ name: 'job', input }, async (given) => ({
  isRight: isSame(given, input),
  ...wanted,
}))
const { isRight, ...rest } = output
const error = await record({ name: 'failing job' }, () => {
  throw new Error(`cannot use ${failures[0]}`, { cause: new Error(`cannot use ${failures[1]}`) })
}).catch((thrown) => thrown)
const isThrown = error.message.endsWith(failures[0]) && error.cause.message.endsWith(failures[1])
console.log(
  `checks: 3, wrong: ${[isRight, isSame(rest, wanted), isThrown].filter((one) => !one).length}`,
)
