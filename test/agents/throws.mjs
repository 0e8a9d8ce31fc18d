// An agent that dies of an error nobody catches.
const response = await fetch(`${process.env.AGENT_BASE_URL}/echo`)
const { random } = await response.json()
console.log(Date.now(), random)

class PolicyViolated extends Error {
  name = 'PolicyViolated'
}

setTimeout(() => {
  console.log('throwing', Math.random())
  throw new PolicyViolated('refund without approval')
}, Math.random() * 10)
