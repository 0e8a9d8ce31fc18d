import { generateKeyPairSync } from 'node:crypto'

const { publicKey } = generateKeyPairSync('ed25519')
const body = publicKey.export({ type: 'spki', format: 'pem' })
console.log(
  await (await fetch(`${process.env.AGENT_BASE_URL}/echo`, { method: 'POST', body })).text(),
)
