// A planted race: two tools at the same time, and each adds to a total it has read before it waited.
import { tool } from '@retake/engine'

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const prices = { apples: 30, pears: 12 }
const lookUp = tool('look_up_price', async (item) => {
  await wait(item === 'apples' ? 2 : 25)
  return { price: prices[item] }
})

let total = 0
async function addPrice(item) {
  const before = total
  const { price } = await lookUp(item)
  total = before + price
}
await Promise.all(['apples', 'pears'].map(addPrice))
console.log('total', total)
