/**
 * Small agents that fail for a known reason, one for each scenario of the blame lab
 * (`test/blame/scenarios`). The model is a loopback server; its answers are planned there.
 */
import { existsSync, readFileSync } from 'node:fs'
import { tool } from '@retake/engine'

const [, , name, ...args] = process.argv
const base = process.env.AGENT_BASE_URL

/** Sends a conversation to the model of this scenario and returns its message. */
async function converse(messages) {
  const response = await fetch(`${base}/${name}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fake-1', messages }),
  })
  const { choices } = await response.json()
  return choices[0].message
}

const ask = async (content, system = 'You are a clerk.') => {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content },
  ]
  return (await converse(messages)).content
}

/** Opens at the given moment: the recorded run was too early, forks are not. */
const isOpen = () => Date.now() >= Number(args[0])

async function report(readsClockAfter) {
  const getSales = tool('get_sales', async () => ({ units: 120 }))
  const check = tool('check_total', async ({ units }) => ({ units, ok: true }))
  let open = readsClockAfter === 0 ? isOpen() : undefined
  await ask(`Plan the report${open === false ? ' for a closed market' : ''}.`)
  const { units } = await getSales({ region: 'north' })
  if (readsClockAfter === 2) open = isOpen()
  const state = open === undefined ? '' : open ? ' The market is open.' : ' The market is closed.'
  const text = await ask(`Summarise ${units} units.${state}`)
  const { ok } = await check({ units })
  await ask(`Polish: ${text} ${ok}`)
  open ??= isOpen()
  console.log(open ? 'REPORT READY' : 'MARKET CLOSED')
}

async function warehouse() {
  const getStock = tool('get_stock', async ({ place }) => ({ units: place === 'north' ? 0 : 40 }))
  await ask('Plan the delivery of order 7.')
  const place = ['north', 'south', 'east', 'west'][Math.floor(Math.random() * 4)]
  const { units } = await getStock({ place })
  const answer = await ask(`There are ${units} units in ${place}. Can we deliver?`)
  console.log(answer)
  process.exitCode = units === 0 ? 1 : 0
}

/** The rules say which tax to add. Without the file, none is. */
async function invoice(read) {
  const amount = Number(await ask('What is the net amount of order 7?'))
  const { hours } = await tool('get_hours', async () => ({ hours: 12 }))({ order: 7 })
  const { vat } = await read()
  const total = Math.round(amount * (1 + vat))
  await ask(`Write an invoice of ${total} for ${hours} hours.`)
  console.log(JSON.stringify({ total }))
}

const rules = () =>
  existsSync('rules.json') ? JSON.parse(readFileSync('rules.json', 'utf8')) : { vat: 0 }

/** Asks for several numbers; the total is wrong if `fails` says so of the wrong ones. */
async function total(fails) {
  const wrong = []
  for (const step of [1, 2, 3, 4, 5, 6]) {
    const answer = await ask(`Number ${step}?`)
    if (answer.includes('wrong')) wrong.push(step)
  }
  const isWrong = fails(wrong)
  console.log(JSON.stringify({ total: isWrong ? 90 : 100 }))
  process.exitCode = isWrong ? 1 : 0
}

/** A stale tool, and a model that repeats what it said. */
async function stock() {
  const getStock = tool('get_stock', async () => ({ units: 14, asOf: '2026-11-01' }))
  const notify = tool('notify', async ({ text }) => ({ sent: text.length > 0 }))
  await ask('A customer wants one lamp. Which tool?')
  await ask('Which product id?')
  const { units } = await getStock({ id: 'lamp' })
  const first = await ask(`get_stock says ${units} units. Is the lamp available?`)
  await notify({ text: 'looked up' })
  const second = await ask(`You said: ${first} Write to the customer.`)
  console.log(/\byes\b|available|in stock/i.test(second) ? 'IN STOCK' : 'OUT OF STOCK')
}

/** The model transposes two digits of the order it looks up. */
async function order() {
  const getOrder = tool('get_order', async ({ id }) => ({ id, paid: id === '1182' ? 249 : 19 }))
  await ask('A customer wants a refund for order 1182. Plan.')
  await ask('Which tool?')
  const id = await ask('Which id? Copy it from: order 1182.')
  const { paid } = await getOrder({ id })
  await ask('Is that plausible?')
  const amount = await ask(`get_order says ${paid} were paid. How much do we refund?`)
  console.log(`REFUND ${amount}`)
}

/** Pays a refund at the bank, a loopback server that counts. */
async function refund() {
  const pay = tool('pay_refund', async ({ amount }) => {
    const response = await fetch(`${base}/bank`, { method: 'POST', body: String(amount) })
    return { paid: response.ok }
  })
  await ask('Plan the refund.')
  const amount = Number(await ask('How much? The order was 20.'))
  await pay({ amount })
  await ask(`Tell the customer about ${amount}.`)
  process.exitCode = amount === 20 ? 0 : 1
}

async function always(decide) {
  const getOrder = tool('get_order', async () => ({ days: 10 }))
  await ask('Plan.', 'Approve every refund.')
  const { days } = await getOrder({ id: '7' })
  const answer = await ask(`The order is ${days} days old.`, 'Approve every refund.')
  console.log(decide({ days, answer }) ? 'DENIED' : 'APPROVED')
}

/** Whichever lane answers last decides. */
async function lastWins() {
  let price = 0
  const lane = async (shop) => {
    price = Number(await ask(`Price in ${shop}?`))
  }
  await ask('Plan the comparison.')
  await Promise.all([lane('shop a'), lane('shop b')])
  await ask(`Write an offer for ${price}.`)
  process.exitCode = price === 10 ? 0 : 1
}

/** The first lane that is refused takes the only reserve; the other one fails. */
async function retryOrder() {
  let reserve = 1
  const lane = async (task) => {
    const answer = await ask(`Try ${task}.`)
    if (answer !== 'refused') return true
    if (task === 'big' && reserve > 0) return reserve-- > 0
    if (reserve > 0) reserve -= 1
    return task !== 'big'
  }
  const [big] = await Promise.all([lane('big'), lane('small')])
  await ask('Write down the result.')
  process.exitCode = big ? 0 : 1
}

/** Plain functions as tools: their results are only seen in the conversation. */
async function plainTools() {
  const tools = { get_order: ({ id }) => ({ id, paid: 24.9 }) }
  const messages = [{ role: 'user', content: 'Refund order 1182.' }]
  for (;;) {
    const message = await converse(messages)
    messages.push(message)
    if (message.tool_calls === undefined) return console.log(message.content)
    for (const { id, function: called } of message.tool_calls) {
      const result = tools[called.name](JSON.parse(called.arguments))
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) })
    }
  }
}

/** Fails most of the time; a wrong hint makes that certain. */
async function puzzle() {
  await ask('Plan.')
  const hint = await ask('Give a hint.')
  const luck = await ask(`Solve it. Hint: ${hint}`)
  console.log(luck === 'solved' ? 'SOLVED' : 'STUCK')
}

/** A variable decides how a parcel is handled; the model may weigh it wrongly. */
async function parcel(fails) {
  const mode = process.env.PARCEL_MODE ?? 'lenient'
  await ask('Plan the parcel.')
  const weight = await ask('What does the parcel weigh?')
  await ask(`Write a label for ${weight}, ${mode}.`)
  process.exitCode = fails({ isStrict: mode === 'strict', isWrong: weight === 'wrong' }) ? 1 : 0
}

const request = async (file, options) => (await fetch(`${base}/${name}/${file}`, options)).json()

/** Looks something up by HTTP, and decides by it. */
async function shop(decide, options) {
  await ask('Plan the basket.')
  const found = await request('basket', options)
  const said = decide(found)
  await ask(`Write down ${said}.`)
  console.log(said)
}

const post = (body) => ({ method: 'POST', body: JSON.stringify(body) })

/** Writes a letter in words that differ each time, and sends it. */
async function letter(send) {
  await ask('Plan the letter.')
  const amount = await ask('How much do we refund? The order was 20.')
  const text = await ask(`Write a letter about ${amount}.`)
  const sent = await send({ amount: Number(amount), text })
  await ask('Ask for feedback.')
  console.log(`REFUND ${/\d+/.exec(text)?.[0]} ${JSON.stringify(sent)}`)
}

const sendMail = tool('send_mail', async ({ text }) => {
  await fetch(`${base}/mail`, { method: 'POST', body: text })
  return { status: 'queued', id: 'msg-41' }
})

const transfer = tool('transfer', async ({ memo }) => {
  await fetch(`${base}/bank`, { method: 'POST', body: memo })
  return { balance: 812 }
})

/** Transfers money with a reworded memo; the mistake comes later. */
async function settle() {
  const memo = await ask('Write a memo for the transfer.')
  await transfer({ amount: 20, memo })
  const state = await ask('Is the case closed?')
  console.log(`CASE ${state}`)
}

const searchRules = tool('search_rules', async ({ query }) => ({
  days: query.length > 10 ? 30 : 10,
}))

/** Looks up a rule with a query that is reworded each time. */
async function rule() {
  await ask('Plan.')
  const query = await ask('Write a query for the rule.')
  const { days } = await searchRules({ query })
  const answer = await ask(`The rule says ${days} days. Decide.`)
  console.log(answer)
}

/** Fails in its own code, whatever the model and the tool say. */
async function bug(code) {
  const getItems = tool('get_items', async () => ({ items: ['sofa', 'lamp'], rate: 2 }))
  await ask('Plan the list.')
  const words = await ask('Describe the list.')
  console.log(code({ words, ...(await getItems({ list: 'a' })) }))
}

const AGENTS = {
  v1: () => parcel(({ isStrict }) => isStrict),
  v4: () => parcel(({ isWrong }) => isWrong),
  v5: () => parcel(({ isStrict, isWrong }) => isStrict && isWrong),
  w1: () => shop(({ price, shipping }) => `TOTAL ${price + shipping}`),
  w2: () => shop(({ stock }) => (stock.units > 0 ? 'IN STOCK' : 'SOLD OUT')),
  w3: () => shop(({ stock }) => (stock.units > 0 ? 'IN STOCK' : 'SOLD OUT')),
  w4: () => shop(({ days }) => (days > 10 ? 'LATE' : 'IN TIME'), post({ from: 'north' })),
  w5: () => shop(({ price }) => `TOTAL ${price.value}`),
  x1: () => letter(({ text }) => sendMail({ to: 'a@b.example', text })),
  x2: () => letter(({ amount, text }) => request('transfers', post({ amount, memo: text }))),
  x3: settle,
  x4: rule,
  y1: () => bug(({ items }) => items.first.name),
  y2: () => bug(({ items }) => `LAST ${items[items.length]}`),
  y3: () => bug(({ words }) => JSON.parse(words).first),
  y4: () => bug(({ rate }) => `TOTAL ${rate * undefined}`),
  a1: () => report(0),
  a2: () => report(2),
  a3: () => report(5),
  m: warehouse,
  b1: () => invoice(rules),
  b2: () => invoice(() => tool('read_rules', async () => rules())({ file: 'rules.json' })),
  and: () => total((wrong) => wrong.includes(3) && wrong.includes(5)),
  or: () => total((wrong) => wrong.includes(3) || wrong.includes(5)),
  one: () => total((wrong) => wrong.includes(3)),
  d: stock,
  p: stock,
  l: order,
  n: refund,
  k1: () => always(({ answer }) => answer === 'denied'),
  k2: () => always(({ days }) => days < 30),
  c1: lastWins,
  c2: retryOrder,
  q: plainTools,
  r: puzzle,
}

await AGENTS[name]()
