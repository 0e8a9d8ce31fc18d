// Another planted race: whichever response comes last decides what is asked next.
const base = process.env.AGENT_BASE_URL
const ask = async (text) => {
  const response = await fetch(`${base}/echo?text=${text}`, { method: 'POST', body: text })
  await response.json()
}

let latest = ''
await Promise.all(
  ['first', 'second', 'third'].map(async (name) => {
    await ask(name)
    latest = name
  }),
)
if (process.argv[2] === 'ask') await ask(`summary of ${latest}`)
else console.log('latest', latest)
