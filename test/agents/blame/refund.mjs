/**
 * A clerk that approves a refund because its tool hands out an outdated policy.
 * With an argument it misbehaves once it is told the right one.
 */
import { tool } from '@retake/engine'

const [, , trouble] = process.argv
const lookUp = tool('look_up_order', async () => ({ day: 41 }))
const searchPolicy = tool('search_policy', async () => ({ window: 60 }))
const decide = tool('decide', async ({ day, window }) => ({ approved: day <= window }))
const tell = tool('tell', async () => ({ told: true }))

const { day } = await lookUp({ order: 1182 })
const { window } = await searchPolicy({ query: 'refund window' })
if (window === 30 && trouble === 'crash') throw new TypeError('the window is too small')
if (window === 30 && trouble === 'hang') setInterval(() => {}, 1000)
const { approved } = await decide({ day, window })
await tell({ approved })
console.log(approved ? 'APPROVED' : 'DENIED')
