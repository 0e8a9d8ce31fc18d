/**
 * Three tools at once; each call of `lookUp` has variables of its own. The enum makes
 * the loader rewrite the code, so that lines are found through a source map.
 */
import { tool } from 'retake'

enum Unit {
  Celsius = 'C',
  Fahrenheit = 'F',
}

interface Finding {
  readonly city: string
  readonly degrees: number
}

const temperatures: Record<string, number> = { Oslo: 4, Rome: 21, Lima: 17 }
const waits: Record<string, number> = { Oslo: 60, Rome: 5, Lima: 30 }
let found = 0

const weather = tool('weather', async (city: string, _unit: Unit): Promise<number> => {
  await new Promise((resolve) => setTimeout(resolve, waits[city]))
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
