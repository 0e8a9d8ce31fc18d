// Declares variables in loops, in patterns, and with functions that run in between.
import { tool } from '@retake/engine'

const pay = tool('pay', async ({ i }) => ({ paid: i, rest: [i] }))

async function settle() {
  let total = 0
  for (let i = 0; i < 2; i++) {
    const { paid, rest: first } = await pay({ i })
    for (const n of [await pay({ i: 10 + i })]) {
      const share = n.paid
      total += share + first[0]
    }
    const p = await pay({ i: paid })
    const q = [1, 2].map((v) => {
      const inner = v * 2
      return inner + p.paid
    })
    total += q.length
  }
  return total
}

console.log(await settle())
