// An agent that ends on purpose with a code of its own, with work still open.
const response = await fetch(`${process.env.AGENT_BASE_URL}/echo`)
const { random } = await response.json()
console.log(Date.now(), random)
console.error('about to stop', Math.random())
setInterval(() => console.log('never'), 60_000)
process.on('exit', (code) => console.log('exit', code, Date.now()))
setTimeout(() => process.exit(7), Math.random() * 10)
