// Sources of chance and time that are easy to forget. Each is either captured
// or named in the boundary report; none may be silently different on replay.
import nodeCrypto from 'node:crypto'
import { promisify } from 'node:util'
import vm from 'node:vm'

let line = 0
const log = (...words) => console.log(line++, ...words)

log('timeOrigin', performance.timeOrigin, performance.toJSON().timeOrigin)
log('mark', performance.mark('here').startTime, performance.measure('all', 'here').duration)
log('event', new Event('x').timeStamp)
log('file', new File(['x'], 'x.txt').lastModified)
log('object URL', URL.createObjectURL(new Blob(['x'])))
log('range', new Intl.DateTimeFormat('en', { timeStyle: 'full' }).format(undefined))
log('locale', new Date().toLocaleTimeString('en', { fractionalSecondDigits: 3 }))
log('Temporal', globalThis.Temporal?.Now.instant().toString())
log('vm', vm.runInNewContext('[Date.now(), Math.random()]').join(' '))

const { publicKey } = nodeCrypto.generateKeyPairSync('ed25519')
log('key pair', publicKey.export({ type: 'spki', format: 'pem' }).split('\n')[1])
const pair = await promisify(nodeCrypto.generateKeyPair)('x25519')
log('async key pair', pair.publicKey.export({ type: 'spki', format: 'pem' }).split('\n')[1])
log('key', nodeCrypto.generateKeySync('hmac', { length: 64 }).export().toString('hex'))
log('prime', nodeCrypto.generatePrimeSync(32, { bigint: true }))
const ecdh = nodeCrypto.createECDH('prime256v1')
log('ecdh', ecdh.generateKeys('hex').slice(0, 16))
const subtle = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt'])
log('subtle', Buffer.from(await crypto.subtle.exportKey('raw', subtle)).toString('hex'))

const form = new FormData()
form.set('field', 'value')
log(
  'boundary',
  new Request('http://loopback', { method: 'POST', body: form }).headers.get('content-type'),
)
log('handles', process.getActiveResourcesInfo().length, process.constrainedMemory?.() >= 0)
log('usage', process.cpuUsage().system, process.resourceUsage().maxRSS)
