/**
 * Three tools at once; each call of `lookUp` has variables of its own. The enum makes
 * the loader rewrite the code, so that lines are found through a source map.
 */
import { tool } from '@retake/engine'

enum Unit {
  Celsius = 'C',
  Fahrenheit = 'F',
}

interface Finding {
  readonly city: string
  readonly degrees: number
}

const temperatures: Record<string, number> = { Oslo: 4, Rome: 21, Lima: 17 }
/** Cities in the order in which they are answered, however slow the machine is. */
const queue = ['Rome', 'Lima', 'Oslo']
let found = 0

const weather = tool('weather', async (city: string, _unit: Unit): Promise<number> => {
  while (queue[0] !== city) await new Promise((resolve) => setTimeout(resolve, 1))
  setTimeout(() => queue.shift(), 5)
  return temperatures[city] ?? 0
})

async function lookUp(city: string, index: number): Promise<Finding> {
  const label = `${index}:${city}`
  const degrees: number = await weather(city, Unit.Celsius)
  const finding: Finding = { city, degrees }
  found += 1
  console.log(label, finding.degrees)
  return finding
}

async function main(): Promise<void> {
  const cities = ['Oslo', 'Rome', 'Lima']
  const findings = await Promise.all(cities.map((city, index) => lookUp(city, index)))
  const warmest = findings.reduce((a, b) => (a.degrees > b.degrees ? a : b))
  console.log('warmest', warmest.city)
}

await main()
